from sys import argv

from symbolic import Archive

for thing in Archive.open(argv[1]).iter_objects():
    text = thing.make_cficache().open_stream().read().decode()
    print(text[text.index("STACK CFI") :], end="")

"""`python -m tests.process.equal_children`: docs/results/processes-children.md, programs of the host that start others.

Shells, make, git, perl and Python, and C programs of this folder that do nothing but talk to their children, each run
in the testbed and natively, in a folder of its own. No step is kept, so that a run of a hundred million steps takes no
more memory than a short one. Exit status 1 where something differs.
`python -m tests.process.equal_children make git` measures these only; the page keeps its other rows.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from testbed.image.separate_debug import NOWHERE
from testbed.process import ProcessRun
from testbed.process.known_files import FileReading
from testbed.process.process_run import finished, shown_program
from testbed.process.running import run_on
from testbed.process.starting import ENVIRONMENT, MOST_MEMORY, ProcessInputs, started
from testbed.words.files import WorkFolder
from tests.process.builds import built

PAGE = Path(__file__).parents[2] / "docs/results/processes-children.md"
BUDGET, PIECE, SECONDS = 400_000_000, 1 << 18, 300
MAKEFILE = """all: one two
\t@cat one two | tr a-z A-Z
one: ; @echo one > one
two: one ; @sed s/one/two/ one > two; echo made $@
fails: ; @false
"""
HEAD = """# Programs that start others

Made by `python -m tests.process.equal_children`. Each is run in the testbed, and natively, on x86_64, as Debian 12 has
it; `channels`, `arrivals`, `children`, `timers` and `own_files` are C programs of `tests/process/programs`, which tests
compare with qemu-user on other architectures. *Equal*: the same standard output and exit status. *Steps* and *programs*
are those of all processes together.

{equal} of {all} are equal.

| interpreter | script | steps | programs | ended by | equal |
|---|---|---:|---:|---|---|
"""

BUILT = ("channels", "arrivals", "children", "timers", "own_files")
FILES = "bash, files and jobs"
PYTHON = "/usr/lib/python3.11"
INTERPRETERS = {
    **dict.fromkeys(("bash", FILES), ("/bin/bash", "-c")),
    "dash": ("/bin/dash", "-c"),
    "perl": ("/usr/bin/perl", "-e"),
    "make": ("/usr/bin/make", "-s"),
    "git": ("/bin/sh", "-c"),
    "python": ("/usr/bin/python3", "-ISc"),
    **{name: ("", "") for name in BUILT},
}
SCRIPTS = {
    "bash": (
        "echo a | tr a b",
        "for i in 3 1 2; do echo $i; done | sort -r | head -n 2",
        "x=$(seq 1 20 | awk '{s+=$1} END {print s}'); echo $x",
        "set -o pipefail; false | true; echo $? ${PIPESTATUS[@]}",
        "coproc cat; echo hi >&${COPROC[1]}; read -u ${COPROC[0]} x; echo got $x",
        "timeout 1 sleep 5; echo $?",
        "trap 'echo last' EXIT; (exit 3); echo $?; kill -USR1 $$",
        "mapfile -t x < words; printf '%s\\n' ${x[@]} | sort | uniq -c",
    ),
    FILES: (
        "flock lock bash -c 'flock -n lock true; echo $?'",
        "mkfifo p; (echo through > p &); cat p; stat -c %A p",
        "chmod 600 words; stat -c %a words; chmod +x Makefile; test -x Makefile && echo x",
        "ln -s words l; readlink l; cat l; ls -l l | cut -c 1; ln words h; stat -c %h h",
        "touch -d @1600000000 new; stat -c %Y new; cp -p new old; stat -c %Y old; test new -nt words; echo $?",
        "make -s one; touch -d @99 one; touch words; make -n all | head -n 1",
        "cp -a words d; install -m 755 words i; stat -c %a i; truncate -s 9 i; fallocate -l 20 i; wc -c i",
        "sed -i s/fig/plum/ words; cat words; dd if=words of=d bs=4 count=2 2> /dev/null; cat d",
        "tar czf a.tgz words Makefile; mkdir x; tar xzf a.tgz -C x; cmp x/words words && echo same",
        "comm <(sort words) <(sort -u words); tee >(wc -l > n) < words > /dev/null; sleep 1; cat n; cat /dev/fd/0 < n",
        "nice -n 5 nice; ulimit -n 50; ulimit -n; umask 077; touch q; stat -c %a q; sync; ionice",
        "sleep 9 & kill -STOP $!; kill $!; kill -CONT $!; wait $!; echo $?",
        "set -m; (kill -STOP $BASHPID; echo on) & wait $!; echo $?; kill -CONT %1; wait; echo done",
        "set -m; (kill -TSTP $BASHPID; echo on) & wait %1; echo $?; fg 2> /dev/null; echo $?",
        "find . -name words -newer Makefile; find . -type f -size -1k -print0 | xargs -0 -P 2 ls | sort | tail -n 2",
    ),
    "dash": (
        "echo a b | tr a-z A-Z | cat",
        "(sleep 2; echo b) & (sleep 1; echo a) & wait; echo done",
        "yes | head -n 3; echo $?",
        "find . -type f | sort | xargs -n 1 wc -c",
        "find . -name words -exec cat {} ';'",
        "tar cf - words Makefile | tar tf -",
        "gzip -c words | gzip -dc | cmp - words && echo same",
        "cat words words | sort -u | tee copy | wc -l; cat copy",
        "grep -c . words | (read n; expr $n + 1)",
        "sed -n 2p words | od -c | head -n 1",
        "trap 'echo term' TERM; kill -TERM $$; wait; echo $?",
        "sh -c 'kill -KILL $$'; echo $?",
        "seq 6 | xargs -n 1 -P 2 sh -c 'exit 0'; echo $?",
        "exec 3<words; read x <&3; cat <&3 | tail -n 1; echo $x",
        "env -i A=b /usr/bin/env | cat",
    ),
    "perl": (
        "print `echo hi`; system('exit 3'); print $? >> 8, qq(\\n)",
        "open(P, '-|', 'sort -r words'); print while <P>; close P; print $?, qq(\\n)",
        "pipe(R, W); if (fork) { close W; print <R>; wait; print $? >> 8 } else { print W qq(child\\n); exit 7 }",
        "$SIG{CHLD} = sub { print qq(ended\\n) }; $p = fork; exit unless $p; waitpid $p, 0; sleep 1",
        "use Socket; socketpair(A, B, AF_UNIX, SOCK_STREAM, 0); if (fork) { close B; print <A> } "
        "else { close A; print B qq(pair\\n) }",
        "use Socket; socket(S, AF_INET, SOCK_STREAM, 0); bind(S, pack_sockaddr_in(0, INADDR_LOOPBACK)); listen(S, 1); "
        "($p) = unpack_sockaddr_in(getsockname S); if (fork) { accept(C, S); print scalar <C>; print C qq(back\\n) } "
        "else { socket(C, AF_INET, SOCK_STREAM, 0); connect(C, pack_sockaddr_in($p, INADDR_LOOPBACK)); "
        "syswrite C, qq(there\\n); shutdown(C, 1); print <C> }",
        "$SIG{ALRM} = sub { die qq(late\\n) }; eval { alarm 1; sleep 9 }; print $@, alarm 0, qq(\\n)",
        "use Time::HiRes qw(setitimer ITIMER_VIRTUAL); $SIG{VTALRM} = sub { $n++ }; "
        "setitimer(ITIMER_VIRTUAL, 1e-4, 1e-4); 1 while $n < 5; "
        "setitimer(ITIMER_VIRTUAL, 0); print $n > 4, qq(\\n)",
    ),
    "make": ("all", "fails", "-j2 all", "-n all"),
    "git": (
        "git log --format=%s | head -n 2",
        "git status --short | wc -l",
        "git diff HEAD~1 | grep '^[+-]' | cat",
        "git rev-list --count HEAD",
        "git log | head -n 1",
        "git grep -n apple | sort | tail -n 1",
        "git archive HEAD | tar tf -",
    ),
    "python": (
        "import subprocess as s; print(s.run(['sort', 'words'], capture_output=True, text=True).stdout.split())",
        "import subprocess as s; p = s.Popen('tr a-z A-Z', shell=True, stdin=s.PIPE, stdout=s.PIPE); "
        "print(p.communicate(b'through'), p.returncode)",
        "import os, signal; r, w = os.pipe(); p = os.fork() or (os.write(w, b'child'), os.kill(os.getpid(), 9)); "
        "print(os.read(r, 9), os.waitpid(p, 0)[1])",
        "import socket, threading as t; s = socket.create_server(('127.0.0.1', 0)); "
        "e = lambda: (c := s.accept()[0]).sendall(c.recv(9)); t.Thread(target=e).start(); "
        "c = socket.create_connection(s.getsockname()); c.sendall(b'echo'); print(c.recv(9))",
        "import socket, os; a, b = socket.socketpair(); r, w = os.pipe(); "
        "os.fork() or (socket.send_fds(a, [b'x'], [w]), os._exit(0)); os.close(w); "
        "print(os.write(socket.recv_fds(b, 9, 1)[1][0], b'sent'), os.read(r, 9))",
        "import multiprocessing as m; p = m.Pool(2); print(p.map(abs, range(-3, 3))); p.close(); p.join()",
        "import multiprocessing as m; q = m.Queue(); p = m.Process(target=q.put, args=('hi',)); p.start(); "
        "print(q.get()); p.join(); print(p.exitcode)",
        "import signal as s; names = set(); add = lambda number, frame: names.add(frame.f_code.co_name); "
        "s.signal(s.SIGPROF, add); s.setitimer(s.ITIMER_PROF, 1e-4, 1e-4); "
        "[sum(i for i in range(99)) for _ in iter(lambda: '<genexpr>' in names, True)]; "
        "s.setitimer(s.ITIMER_PROF, 0); print(names > {'<genexpr>'})",
    ),
    "channels": ("echo", "pair", "local", "datagrams", "nonblocking", "watching", "named", "anonymous", "memfd", "shm"),
    "arrivals": ("mapped", "twice", "rights", "senders", "timer", "taken"),
    "timers": ("once", "again", "made", "threads", "queued"),
    "children": (
        *("fork", "pipe", "signals", "broken", "exec", "vfork", "group", "poll", "orphan", "missing"),
        *("stopped", "unwatched"),
    ),
    "own_files": ("links", "modes", "times", "pipe", "locks", "moved", "paths", "limits"),
}


@dataclass(frozen=True, slots=True)
class ComparedScript:
    """A script of an interpreter: what it did here, and what differs from there; "" for nothing."""

    interpreter: str
    script: str
    run: ProcessRun
    differs: str

    def __str__(self) -> str:
        every = (self.run, *self.run.children)
        said = self.script.replace("|", "\\|")
        counts = f"{sum(each.steps for each in every):,} | {len(every)}"
        return f"| {self.interpreter} | `{said}` | {counts} | {self.run.ending} | {self.differs or 'yes'} |"


def main(chosen: list[str]) -> int:
    rows = {name: [line for line in _kept() if line.startswith(f"| {name} |")] for name in INTERPRETERS}
    for name in chosen or INTERPRETERS:
        measured = []
        for script in SCRIPTS[name]:
            measured.append(str(_compared(name, script)))
            print(measured[-1], flush=True)
        rows[name] = measured
        _write([line for each in rows.values() for line in each])
    return int(any(not line.endswith("| yes |") for each in rows.values() for line in each))


def _write(lines: list[str]) -> None:
    equal = sum(line.endswith("| yes |") for line in lines)
    PAGE.write_text(HEAD.format(equal=equal, all=len(lines)) + "".join(f"{line}\n" for line in lines), encoding="utf-8")


def _kept() -> list[str]:
    return PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []


def _compared(name: str, script: str) -> ComparedScript:
    path, *arguments = *INTERPRETERS[name], *(script.split() if name == "make" else [script])
    if name in BUILT:
        path, arguments = str(built(name, "x86_64", "static")), [script]
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as other:
        for folder in (made, other):
            _fill(Path(folder))
        run = unkept(path, arguments, Path(made))
        there = subprocess.run(
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(ENVIRONMENT),
            cwd=other,
            timeout=SECONDS,
            check=False,
        )
    own = -run.signal if run.signal else run.status
    found = "" if own == there.returncode else f"**no**: status {own}, {there.returncode} there"
    if not found and run.stdout != there.stdout:
        found = f"**no**: {run.stdout[-60:]!r}, {there.stdout[-60:]!r} there"
    return ComparedScript(name, script, run, found)


def _fill(folder: Path) -> None:
    """The files that scripts work on: words, a makefile, a repository of three commits."""
    (folder / "words").write_text("pear\napple\nfig\napple\n")
    (folder / "Makefile").write_text(MAKEFILE)
    date = {"GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z"}
    for command in ("init -q", "add words", "commit -qm words", "add Makefile", "commit -qm rules"):
        name = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        given = {"PATH": os.environ["PATH"], "HOME": str(folder), **date}
        subprocess.run(["git", *name, *command.split()], cwd=folder, env=given, check=True)


def unkept(path: str, arguments: list[str], folder: Path) -> ProcessRun:
    """A run in a folder of the host, which is read only: its output, its counts, its children; no step."""
    reading = FileReading(NOWHERE, ())
    shown = {"/here": folder} | {each: Path(each) for each in (PYTHON,) if os.path.isdir(each)}
    image, files = shown_program(path, None, shown, reading)
    inputs = ProcessInputs(tuple(arguments), 1, BUDGET, b"", ENVIRONMENT, files, "/here", MOST_MEMORY, reading)
    with WorkFolder("process") as written:
        process, streams = started(image, inputs, Path(written), PIECE)
        for each in run_on(process.kernel):
            each.recorder.next_piece()
        return finished(process, streams, inputs.seed, whole=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

def leaf(n):
    return sum(i * i for i in range(n))


def walk(n):
    return leaf(9) if n == 0 else walk(n - 1) + 1


print(walk(5))

int last(int);
int work(int x)
{
    asm volatile("" ::: "d8", "d9");
    return last(x) + x;
}

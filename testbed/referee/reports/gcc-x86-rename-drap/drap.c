volatile int size = 4;
int work(int n)
{
    _Alignas(32) volatile int here = n;
    volatile int array[size];
    array[n] = n + 5;
    array[0] = n;
    return array[n] + here + array[0] + here;
}

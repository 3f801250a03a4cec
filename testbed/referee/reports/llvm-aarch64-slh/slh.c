int leaf(int);
int work(int x) { return leaf(x) + 1; }

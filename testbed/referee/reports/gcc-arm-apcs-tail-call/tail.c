int last(int);
int work(int x) { return last(last(x) - 2); }

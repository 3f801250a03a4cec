extern int plain(int x);

__attribute__((preserve_all)) int keeps(int x) { return plain(x + 1) + plain(x); }

int leaf(int x) { volatile int here = x; return here; }

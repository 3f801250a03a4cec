// A known property of a producer is told once a file, as a note: clang writes no rows for epilogues here.
// ! {"tables": ["debug_frame"], "flags": ["-Os"], "runs": 60, "steps": 300}
//
// case: as it is
// | it: every row is right but 3 instructions of epilogues, which the compiler left out; all 42 instructions were executed.
// | note ``, no place
// | f+0x20 (pop {fp, lr}): the row says CFA = sp+0xa8, the true CFA is sp+0x8 here; this compiler writes no rows for epilogues on this architecture (.debug_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 10, 10 executed, all came back
// | h: 16, 15 executed, 1 forced, some came back
// | e: 16, 16 executed, all came back

extern int g(int *, int);
int f(int n) { int local[40]; if (n < 3) return g(local, n); return local[0] + n; }
int h(int n, int *p) { int s = 0; for (int k = 0; k < n; k++) s += g(p, s); return s; }
int e(int *p) { if (!*p) return 1; int local[9]; return g(local, *p) + g(p, 0); }

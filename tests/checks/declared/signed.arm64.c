// A signature that is zero is a signature.
// ! {"runs": 10, "steps": 5000, "flags": ["-O0", "-mbranch-protection=pac-ret+leaf"]}
//
// case: as it is
// | it: every row is right; all 26 instructions were executed.
// | deep: 26, 26 executed, some came back

int deep(int n) { return n < 2 ? 1 : n * deep(n - 1); }

// summary: a leaf with more values than scratch registers: it saves callee-saved ones, but links no frame record
// exit: 131
// recipes: clang-O2*, clang-thumb-O2*, gcc-O2*, gcc-thumb-O2*, macho-O2*
// frames: busy = busy, main, _start

volatile unsigned cell[20] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4};
volatile unsigned rounds = 3;

// Volatile reads: each value is fetched once, and all of them live through the loop.
__attribute__((noinline)) unsigned busy(unsigned n) {
    unsigned a = cell[0], b = cell[1], c = cell[2], d = cell[3], e = cell[4], f = cell[5], g = cell[6];
    unsigned h = cell[7], i = cell[8], j = cell[9], k = cell[10], l = cell[11], m = cell[12], o = cell[13];
    unsigned p = cell[14], q = cell[15], r = cell[16], s = cell[17], t = cell[18], u = cell[19];
    while (n--) {
        a += b ^ n, b += c ^ a, c += d ^ b, d += e ^ c, e += f ^ d, f += g ^ e, g += h ^ f;
        h += i ^ g, i += j ^ h, j += k ^ i, k += l ^ j, l += m ^ k, m += o ^ l, o += p ^ m;
        p += q ^ o, q += r ^ p, r += s ^ q, s += t ^ r, t += u ^ s, u += a ^ t;
    }
    return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l ^ m ^ o ^ p ^ q ^ r ^ s ^ t ^ u;
}

int main(void) {
    unsigned x = busy(rounds);
    cell[0] = x;
    return (int)(x & 0xFF);
}

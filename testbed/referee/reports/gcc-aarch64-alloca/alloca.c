void use(char *);
void f(int n) {
    char big[70000];
    use(__builtin_alloca(n));
    use(big);
    use(big + n + 1);
}

void use(void *, char *);
void f(void) {
    char buffer[600];
    use(__builtin_frame_address(0), buffer);
}

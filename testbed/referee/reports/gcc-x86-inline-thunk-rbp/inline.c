int plus4(int x) { return x + 4; }
int main(void) { return plus4(3) - 7; }

void fill(char *);
void big(void) { char bytes[20532]; fill(bytes); }

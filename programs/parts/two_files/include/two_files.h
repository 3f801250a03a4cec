// What the files of two_files.c share.
unsigned second(unsigned x);
unsigned third(unsigned x);
extern volatile unsigned start;

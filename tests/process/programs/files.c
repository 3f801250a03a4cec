/* Files of its own: written, read back, sought, listed, renamed, deleted; standard input and a file that is named. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char line[128] = "";
    char folder[] = "/tmp/testbed-files-XXXXXX";
    if (argc > 1) {
        FILE *named = fopen(argv[1], "r");
        if (!named) return 1;
        printf("%s\n", fgets(line, sizeof line, named));
        fclose(named);
    }
    if (fgets(line, sizeof line, stdin)) printf("%s\n", line);
    snprintf(folder, sizeof folder, "/tmp/testbed-%d", 4711);
    if (mkdir(folder, 0755) || chdir(folder)) return 2;
    FILE *file = fopen("one", "w+");
    for (int i = 0; i < 500; i++) fprintf(file, "line %d\n", i);
    fseek(file, 100, SEEK_SET);
    fgets(line, sizeof line, file);
    printf("%s%ld\n", line, ftell(file));
    fclose(file);
    struct stat about;
    stat("one", &about);
    printf("%ld %d\n", (long)about.st_size, S_ISREG(about.st_mode));
    int absent = truncate("none", 0), whole = truncate(".", 0), short_now = truncate("one", 10);
    stat("one", &about);
    printf("%d %d %d %d\n", absent, whole, short_now, (int)about.st_size);
    printf("%d\n", truncate("one", 0));
    rename("one", "two");
    int number = open("two", O_WRONLY | O_APPEND);
    write(number, "end", 3);
    lseek(number, 0, SEEK_SET);
    close(number);
    stat("two", &about);
    DIR *all = opendir(".");
    int count = 0;
    for (struct dirent *entry; (entry = readdir(all));) count += entry->d_name[0] != '.';
    closedir(all);
    printf("%d %d\n", count, access("one", F_OK));
    int ends[2];
    pipe(ends);
    write(ends[1], "through", 7);
    close(ends[1]);
    memset(line, 0, sizeof line);
    printf("%d %s\n", (int)read(ends[0], line, sizeof line), line);
    int back = open(".", O_RDONLY), file_number = open("two", O_RDONLY);
    printf("%d %d\n", posix_fadvise(file_number, 0, 0, POSIX_FADV_SEQUENTIAL), posix_fadvise(ends[0], 0, 0, 0));
    chdir("/");
    int refused = fchdir(file_number), gone = fchdir(back);
    printf("%d %d %d\n", refused, gone, access("two", F_OK));
    unlink("two");
    struct stat open_still;
    refused = fstat(file_number, &open_still);  // its name is gone, and it is not
    printf("%d %d %d\n", refused, (int)open_still.st_size, (int)read(file_number, line, 3));
    FILE *made = tmpfile();
    fputs("temporary", made);
    fflush(made);
    refused = fstat(fileno(made), &open_still);
    printf("%d %d\n", refused, (int)open_still.st_size);
    fclose(made);
    chdir("/");
    printf("%d\n", rmdir(folder));
    return 0;
}

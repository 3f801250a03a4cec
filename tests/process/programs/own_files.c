// What a process does to files of its own besides their bytes, one way each by argument, and what it prints of it.
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static char words[256];

static int make(const char *name, const char *text) {
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0666);
    write(file, text, strlen(text));
    lseek(file, 0, SEEK_SET);
    return file;
}

static void tell(int number) {
    printf("%d\n", number);
    fflush(stdout);
}

static void say(const char *name) {
    struct stat about;
    if (lstat(name, &about)) printf("%s: %s\n", name, strerror(errno));
    else printf("%s: %o %d\n", name, about.st_mode, S_ISDIR(about.st_mode) ? 0 : (int)about.st_size);
}

static int lock(int file, int how, int kind, int start, int size) {
    struct flock wanted = {.l_type = kind, .l_whence = SEEK_SET, .l_start = start, .l_len = size};
    int failed = fcntl(file, how, &wanted);
    return how == F_GETLK ? wanted.l_type * 1000 + wanted.l_start * 10 + wanted.l_len : failed ? -errno : 0;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    char folder[] = "/tmp/testbed-own-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder)) return 2;
    umask(027);
    int file = make("one", "some words\n"), status = 0, ends[2];
    struct stat about;
    pipe(ends);
    if (!strcmp(what, "links")) {
        printf("%d %d\n", symlink("one", "link"), symlink("one", "link"));
        printf("%d\n", (int)readlink("link", words, sizeof words));
        say("link");
        make("link", "through the link");
        say("one");
        mkdir("deep", 0777);
        symlink("../link", "deep/up");
        symlink("nowhere", "dangling");
        printf("%d %d\n", access("deep/up", F_OK), access("dangling", F_OK));
        close(open("dangling", O_WRONLY | O_CREAT, 0600));
        say("nowhere");
        rename("link", "renamed");
        say("renamed");
        printf("%d %d %d\n", unlink("renamed"), access("one", F_OK), readlink("one", words, 9) < 0 && errno == EINVAL);
        link("one", "second");
        stat("one", &about);
        ino_t first = about.st_ino;
        stat("second", &about);
        printf("%d %d\n", (int)about.st_nlink, about.st_ino == first);
        rename("one", "moved");
        make("one", "");
        stat("one", &about);
        printf("%d\n", about.st_ino == first);
        DIR *all = opendir(".");
        int kinds = 0;
        for (struct dirent *entry; (entry = readdir(all));)
            if (entry->d_name[0] != '.') kinds += entry->d_type == DT_LNK ? 100 : entry->d_type == DT_DIR ? 10 : 1;
        printf("%d\n", kinds);
    } else if (!strcmp(what, "modes")) {
        mkdir("folder", 0777);
        say("one");
        printf("%d %d\n", chmod("one", 0604), fchmod(file, 0705));
        say("one");
        chmod("folder", 01700);
        symlink("one", "link");
        rename("one", "two");
        printf("%d %d\n", fchmodat(AT_FDCWD, "none", 0600, 0), fchmodat(AT_FDCWD, "two", 0640, 0));
        fstat(file, &about);
        printf("%o %d\n", about.st_mode, access("two", X_OK));
        chmod("two", 0500);
        say("folder");
        char *again[] = {"two", "executed", 0};
        close(file);
        printf("%d %d\n", chown("two", -1, -1), execve("two", again, again + 2) < 0 && errno == ENOEXEC);
    } else if (!strcmp(what, "times")) {
        struct timespec times[2] = {{5, 0}, {1000000000, 123000000}}, kept[2] = {{9, 0}, {0, UTIME_OMIT}};
        printf("%d %d\n", utimensat(AT_FDCWD, "one", times, 0), futimens(file, kept));
        stat("one", &about);
        printf("%ld %ld\n", (long)about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
        struct timeval coarse[2] = {{7, 0}, {1200000000, 5}};
        printf("%d\n", utimes("one", coarse));
        rename("one", "two");
        fstat(file, &about);
        printf("%ld %ld\n", (long)about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
        struct utimbuf whole = {1, 77};
        utime("two", &whole);
        stat("two", &about);
        printf("%ld\n", (long)about.st_mtime);
        write(file, "x", 1);  // and that is a change
        make("later", "");
        struct stat later;
        fstat(file, &about);
        stat("later", &later);
        printf("%d %d\n", about.st_mtime > 1500000000, about.st_mtime <= later.st_mtime);
    } else if (!strcmp(what, "pipe")) {
        printf("%d %d\n", mkfifo("pipe", 0620), mkfifo("pipe", 0600));
        say("pipe");
        printf("%d\n", open("pipe", O_WRONLY | O_NONBLOCK) < 0 && errno == ENXIO);
        if (!fork()) {
            file = open("pipe", O_WRONLY);
            write(file, "first", 5);
            _exit(3);
        }
        file = open("pipe", O_RDONLY);
        printf("%d ", (int)read(file, words, sizeof words));
        printf("%s %d\n", words, (int)read(file, words, sizeof words));
        wait(&status);
        if (!fork()) _exit(read(open("pipe", O_RDONLY), words, sizeof words));
        close(file);
        file = open("pipe", O_WRONLY);
        write(file, "seven!!", 7);
        wait(&status);
        printf("%d\n", WEXITSTATUS(status));
        close(file);
        file = open("pipe", O_RDWR);
        struct pollfd asked = {file, POLLIN | POLLOUT, 0};
        printf("%d ", poll(&asked, 1, 0));
        printf("%d %d ", asked.revents == POLLOUT, (int)write(file, "itself", 6));
        printf("%d %d\n", (int)read(file, words, sizeof words), unlink("pipe"));
    } else if (!strcmp(what, "locks")) {
        int other = open("one", O_RDWR);
        tell(flock(file, LOCK_EX));
        tell(flock(other, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK);
        tell(flock(file, LOCK_SH));
        tell(flock(other, LOCK_SH | LOCK_NB));
        tell(flock(file, LOCK_EX | LOCK_NB) < 0);
        close(other);
        tell(flock(file, LOCK_EX | LOCK_NB));
        tell(lock(file, F_SETLK, F_WRLCK, 0, 4));
        tell(lock(file, F_SETLK, F_RDLCK, 2, 6));
        if (!fork()) {
            other = open("one", O_RDWR);
            tell(lock(other, F_GETLK, F_RDLCK, 0, 3));
            tell(lock(other, F_GETLK, F_WRLCK, 2, 1));
            tell(lock(other, F_GETLK, F_RDLCK, 3, 1));
            tell(lock(other, F_SETLK, F_WRLCK, 5, 1) < 0);
            tell(lock(other, F_SETLK, F_RDLCK, 5, 1));
            tell(lock(other, F_SETLK, F_WRLCK, 8, 0));
            write(ends[1], "x", 1);
            tell(lock(other, F_SETLKW, F_WRLCK, 0, 0));
            tell(flock(other, LOCK_EX));
            _exit(0);
        }
        read(ends[0], words, 1);
        int failed = lock(file, F_SETLK, F_WRLCK, 7, 4), freed = lock(file, F_SETLK, F_UNLCK, 0, 2);
        close(open("one", O_RDONLY));  // all of this process's are free by that
        flock(file, LOCK_UN);
        wait(&status);
        tell(failed < 0);
        tell(freed);
        tell(lock(file, F_SETLK, F_WRLCK, 0, 0));
    } else if (!strcmp(what, "moved")) {
        int copy = make("copy", "");
        off_t at = 5;
        loff_t from = 0, to = 20;
        printf("%d ", (int)sendfile(copy, file, &at, 100));
        printf("%d %d ", (int)at, (int)sendfile(ends[1], file, 0, 4));
        printf("%d ", (int)copy_file_range(file, &from, copy, &to, 4, 0));
        printf("%d %d %d\n", (int)from, (int)to, (int)lseek(file, 0, SEEK_CUR));
        say("copy");
        printf("%d %d ", posix_fallocate(copy, 10, 90), fallocate(copy, 0, 0, 1));
        printf("%d\n", fallocate(copy, 0, -1, 1) < 0 && errno == EINVAL);
        say("copy");
        printf("%d %.4s\n", (int)read(ends[0], words, sizeof words), words);
    } else if (!strcmp(what, "paths")) {
        char path[64], link[128];
        sprintf(path, "/proc/self/fd/%d", file);
        readlink(path, link, sizeof link);
        printf("%d\n", !strncmp(link, folder, strlen(folder)));
        read(file, words, 5);
        int again = open(path, O_RDONLY);
        printf("%.4s\n", (read(again, words, 4), words));
        sprintf(path, "/dev/fd/%d", ends[1]);
        stat(path, &about);
        printf("%d ", S_ISFIFO(about.st_mode));
        lstat(path, &about);
        again = open(path, O_WRONLY);
        close(ends[1]);
        write(again, "again", 5);
        printf("%d %d\n", S_ISLNK(about.st_mode), (int)read(ends[0], words, sizeof words));
        again = open("/dev/stdout", O_WRONLY);
        fflush(stdout);
        write(again, "out\n", 4);
        int found = 0;
        DIR *all = opendir("/proc/self/fd");
        for (struct dirent *entry; (entry = readdir(all));) found += atoi(entry->d_name) == ends[0];
        printf("%d %d\n", found, open("/proc/self/fd/99", O_RDONLY));
    } else if (!strcmp(what, "limits")) {
        struct rlimit given = {20, 30}, more = {20, 40}, wrong = {9, 8}, kept;
        printf("%d %d %d\n", setrlimit(RLIMIT_NOFILE, &given), setrlimit(RLIMIT_NOFILE, &wrong), errno == EINVAL);
        if (!fork()) {
            getrlimit(RLIMIT_NOFILE, &kept);
            int last = file;
            for (int next; (next = dup(file)) >= 0;) last = next;
            printf("%d %d %d %d\n", (int)kept.rlim_cur, (int)kept.rlim_max, last, errno == EMFILE);
            return 0;
        }
        wait(&status);
        int before = getpriority(PRIO_PROCESS, 0), done = setpriority(PRIO_PROCESS, 0, before + 5);
        printf("%d %d\n", done, getpriority(PRIO_PROCESS, 0) - before);
        struct sched_param parameters = {1};
        printf("%d %d\n", sched_getscheduler(0), sched_getparam(0, &parameters));
        printf("%d %d ", sched_get_priority_max(SCHED_FIFO), sched_get_priority_min(SCHED_OTHER));
        sync();
        printf("%d %d\n", parameters.sched_priority, personality(0xffffffff) == personality(0xffffffff));
        struct statfs system;
        printf("%d %d\n", statfs(".", &system), fstatfs(file, &system));
        printf("%d %d\n", system.f_bsize > 0 && system.f_blocks > system.f_bfree, system.f_namelen == 255);
        printf("%d %d\n", statfs("none", &system), mknod("plain", S_IFREG | 0666, 0));
        say("plain");
        int listed = listxattr("plain", words, sizeof words), got = getxattr("plain", "user.a", words, 9);
        printf("%d %d %d\n", listed, got, errno == ENODATA);
    }
    return 0;
}

/* Tries to reach what is not its own: files of the host by every path, other processes, the network, the machine.
   argv[1]: a path of the host outside of all folders that are shown. argv[2]: a folder that is shown, with a file "own"
   and links "absolute", "relative" and "folder" that lead out of it. Prints a line per attempt: name, result, errno. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *name, long result) { printf("%s %ld %d\n", name, result, result < 0 ? errno : 0); }

static void try_open(const char *name, const char *path) {
    static char text[4096];
    int file = open(path, O_RDONLY);
    tell(name, file);
    if (file >= 0) {
        ssize_t size = read(file, text, sizeof text - 1);
        text[size > 0 ? size : 0] = 0;
        printf("  content %s\n", text);
        close(file);
    }
}

static void try_write(const char *name, const char *path, int flags) {
    int file = open(path, O_WRONLY | flags, 0666);
    tell(name, file);
    if (file >= 0) {
        write(file, "spoiled", 7);
        close(file);
    }
}

int main(int argc, char **argv) {
    const char *secret = argv[1], *folder = argv[2];
    char path[8192];
    try_open("passwd", "/etc/passwd");
    try_open("secret", secret);
    const char *ways[] = {"absolute", "relative", "folder/secret", "../../../../../../../../..", "own/../absolute", "./folder/../secret"};
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, ways[i]);
        try_open(ways[i], path);
    }
    snprintf(path, sizeof path, "%s/../../../../../../../../../..%s", folder, secret);
    try_open("climbing", path);
    const char *roots[] = {"/proc/self/root", "/proc/self/cwd", "/proc/1/root", "/proc/self/fd/3/../../..", "/dev/fd/../../.."};
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s%s", roots[i], secret);
        try_open(roots[i], path);
    }
    try_open("mem", "/proc/self/mem");
    try_open("kernel", "/dev/mem");
    int at = open(folder, O_RDONLY | O_DIRECTORY);
    tell("folder", at);
    tell("openat up", openat(at, "../secret", O_RDONLY));
    tell("openat link", openat(at, "absolute", O_RDONLY));
    tell("symlink", symlink(secret, "/tmp/mine"));
    try_open("own link", "/tmp/mine");
    tell("hard link", link(secret, "/tmp/hard"));
    tell("mknod", mknod("/tmp/node", S_IFCHR | 0666, 0x103));

    snprintf(path, sizeof path, "%s/own", folder);
    try_write("write own", path, 0);
    try_open("own again", path);
    try_write("write secret", secret, O_CREAT | O_TRUNC);
    tell("unlink own", unlink(path));
    tell("gone", access(path, F_OK));
    tell("unlink secret", unlink(secret));
    snprintf(path, sizeof path, "%s/new", folder);
    try_write("create", path, O_CREAT);
    snprintf(path, sizeof path, "%s/absolute", folder);
    try_write("write link", path, O_TRUNC);
    tell("chmod", chmod(folder, 0));
    tell("rename", rename(folder, "/tmp/elsewhere"));
    tell("chroot", chroot(folder));
    tell("mount", mount("none", "/tmp", "tmpfs", 0, NULL));

    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/docker.sock"};
    int wire = socket(AF_UNIX, SOCK_STREAM, 0);
    tell("socket", wire);
    tell("connect", connect(wire, (struct sockaddr *)&address, sizeof address));
    struct sockaddr_in outside = {.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(0x08080808)};
    int inet = socket(AF_INET, SOCK_STREAM, 0), packets = socket(AF_INET, SOCK_DGRAM, 0);
    tell("inet", inet);
    tell("connect outside", connect(inet, (struct sockaddr *)&outside, sizeof outside));
    tell("send outside", sendto(packets, "x", 1, 0, (struct sockaddr *)&outside, sizeof outside));
    tell("bind outside", bind(packets, (struct sockaddr *)&outside, sizeof outside));
    outside.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    outside.sin_port = htons(argc > 3 ? atoi(argv[3]) : 22);
    tell("port of the host", connect(inet, (struct sockaddr *)&outside, sizeof outside));
    tell("raw", socket(AF_INET, SOCK_RAW, 1));
    tell("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
    tell("kill init", kill(1, SIGKILL));
    tell("kill parent", kill(getppid(), SIGKILL));
    tell("kill all", kill(-1, 0));
    tell("ptrace", ptrace(PTRACE_ATTACH, getppid(), 0, 0));
    char command[4096];
    snprintf(command, sizeof command, "cat %s; echo escaped > %s; kill -9 1", secret, secret);
    char *arguments[] = {"sh", "-c", command, NULL};
    tell("execve", execve(secret, arguments, NULL));
    if (!fork()) {
        execve("/bin/sh", arguments, NULL);
        _exit(0);
    }
    wait(NULL);

    tell("huge map", mmap(NULL, (size_t)1 << (sizeof(size_t) * 8 - 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    int maps = 0;
    while (maps < 10000 && mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) maps++;
    tell("many maps", maps < 10000 ? -1 : 0);
    int files = 0;
    while (files < 100000 && open("/dev/null", O_RDONLY) >= 0) files++;
    tell("many files", files < 100000 ? -1 : 0);
    return 0;
}

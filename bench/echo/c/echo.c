/* A bare echo: recvmmsg, sendmmsg, nothing between. What no server of datagrams on one core can beat.
 *   gcc -O2 -o echo-c echo.c;  ./echo-c 127.0.0.1 PORT | ./echo-c unix PATH */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BATCH 64
#define BYTES 8192

static void die(const char *what) { perror(what); exit(1); }

static int listen_on(const char *host, const char *where)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr_in in = {.sin_family = AF_INET};
	int local = !strcmp(host, "unix"), size = 4 << 20;
	int fd = socket(local ? AF_UNIX : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) die("socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	if (local) {
		snprintf(un.sun_path, sizeof un.sun_path, "%s", where);
		if (bind(fd, (struct sockaddr *)&un, sizeof un)) die("bind");
	} else {
		in.sin_port = htons((unsigned short)atoi(where));
		if (inet_pton(AF_INET, host, &in.sin_addr) != 1) die("address");
		if (bind(fd, (struct sockaddr *)&in, sizeof in)) die("bind");
	}
	return fd;
}

static char bytes[BATCH][BYTES];
static struct sockaddr_storage from[BATCH];
static struct iovec iov[BATCH];
static struct mmsghdr msg[BATCH];

static void send_all(int fd, int n)
{
	for (int sent = 0; sent < n;) {
		int k = sendmmsg(fd, msg + sent, (unsigned)(n - sent), 0);
		sent += k > 0 ? k : 1; /* one that cannot be sent is left out, as a server would */
	}
}

int main(int argc, char **argv)
{
	if (argc != 3) { fprintf(stderr, "usage: echo-c HOST PORT | echo-c unix PATH\n"); return 2; }
	int fd = listen_on(argv[1], argv[2]);
	for (;;) {
		for (int i = 0; i < BATCH; i++) {
			iov[i] = (struct iovec){bytes[i], BYTES};
			msg[i].msg_hdr = (struct msghdr){&from[i], sizeof from[i], &iov[i], 1, 0, 0, 0};
		}
		int n = recvmmsg(fd, msg, BATCH, MSG_WAITFORONE, 0);
		if (n < 0 && errno == EINTR) continue;
		if (n < 0) die("recvmmsg");
		for (int i = 0; i < n; i++) iov[i].iov_len = msg[i].msg_len;
		send_all(fd, n);
	}
}

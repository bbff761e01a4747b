// SPDX-License-Identifier: GPL-2.0
/* Not a test of its own: owns UDP port 4791 (argv[1]: 4 or 6) until killed. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(4791) };
	struct sockaddr_in a4 = { .sin_family = AF_INET,
				  .sin_port = htons(4791) };
	int v6 = argc > 1 && argv[1][0] == '6', one = 1, fd;

	fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
	if (v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (v6 ? bind(fd, (void *)&a6, sizeof(a6)) :
		 bind(fd, (void *)&a4, sizeof(a4))) {
		perror("bind");
		return 1;
	}
	puts("bound");
	fflush(stdout);
	for (;;)
		pause();
}

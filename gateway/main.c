/* The program. gateway/cli/main/cli.c finds the command; gateway/serve/serve.c
 * has what must happen before the gateway's first thread. */
#include "gateway/cli/main/cli.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}

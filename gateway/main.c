/* The program. Which of its commands is meant, gateway/cli/cli.c finds out;
 * what has to happen before the gateway's first thread stands in
 * gateway/serve/serve.c. */
#include "gateway/cli/command.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}

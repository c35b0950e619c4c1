/* The command line of hearth-kernelgateway. */
#ifndef HEARTH_GATEWAY_CLI_COMMANDS_CMD_KERNELGATEWAY_H
#define HEARTH_GATEWAY_CLI_COMMANDS_CMD_KERNELGATEWAY_H

/* Runs `hearth-kernelgateway` with the words after its name. */
int kernelgateway_main(int count, char **words);

#endif

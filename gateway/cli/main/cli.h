/* The program hearth, and its other name hearth-kernelgateway. */
#ifndef HEARTH_GATEWAY_CLI_MAIN_CLI_H
#define HEARTH_GATEWAY_CLI_MAIN_CLI_H

/* Runs the program: finds the command and calls it. */
int cli_main(int argc, char **argv);

#endif

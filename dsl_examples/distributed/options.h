/* Reading the options of ranks.h. */
#ifndef DISTRIBUTED_OPTIONS_H
#define DISTRIBUTED_OPTIONS_H

#include "ranks.h"

/* Over the defaults that *o holds; false after a message. */
bool options_read(Options *o, int argc, char **argv);
/* Prints what there is; returns the exit status for wrong usage. */
int options_usage(const Options *o);
#endif

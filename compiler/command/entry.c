/* The program `tilec`: alone, or in the Python wheel over the one library there. */
#include "command/command.h"

int
main(int argc, char **argv)
{
   return tilec_command(argc, argv);
}

/* Every dot of the lowering tests, on the simulator. */
#include "unit/sim/sim_fixture.h"

#define test_lowered_dot test_lowered_dot_on_sim
#include "unit/passes/test_lowered_dot.c"

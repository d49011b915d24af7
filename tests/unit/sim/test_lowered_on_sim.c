/* Every kernel of the lowering tests, on the simulator. */
#include "unit/sim/sim_fixture.h"

#define lowered_run sim_lowered_run
#define test_lowered test_lowered_on_sim
#include "unit/passes/test_lowered.c"

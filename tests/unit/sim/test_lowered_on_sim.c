/* Every kernel of the lowering tests, on the simulator. */
#include "unit/sim/sim_fixture.h"

#define test_lowered test_lowered_on_sim
#include "unit/passes/test_lowered.c"

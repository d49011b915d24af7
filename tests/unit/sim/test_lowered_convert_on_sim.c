/* Every layout conversion of the lowering tests, on the simulator. */
#include "unit/sim/sim_fixture.h"

#define test_lowered_convert test_lowered_convert_on_sim
#include "unit/passes/test_lowered_convert.c"

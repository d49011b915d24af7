// The header from C++; without a context every call answers with a typed status.
#include "elu.h"

#include <cstdio>

int
main()
{
   const int status = elu_launch(nullptr, 1, 1, 1, nullptr, nullptr, 1, 1.0f);
   std::printf("%s\n", elu_message(status));
   const int empty = elu_launch(nullptr, 0, 1, 1, nullptr, nullptr, 1, 1.0f);
   return (status == ELU_NO_DRIVER || status == ELU_BAD_CONTEXT) && empty == ELU_OK ? 0 : 1;
}

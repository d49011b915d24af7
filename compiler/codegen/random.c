/* LLVM names temporary files, of which tilec makes none, by arc4random(), which the C library has
 * since glibc 2.36.  This one in its place, seen by nobody else, lets tilec run on 2.35. */
#include <stdint.h>
#include <sys/random.h>

uint32_t arc4random(void);

uint32_t
arc4random(void)
{
   uint32_t value = 0;
   while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) {
   }
   return value;
}

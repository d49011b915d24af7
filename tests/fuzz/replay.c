/* main() of the fuzz targets where there is no libFuzzer: runs the files and folders it is given,
 * each as it is and changed a number of times.
 *    fuzz_TARGET [--changes N] FILE|FOLDER.. */
#define _GNU_SOURCE
#include "mutate.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_INPUT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
   __attribute__((weak));
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static unsigned num_changes, num_files, random_state = 1;

size_t
LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
   (void)max;
   if (size) {
      random_state = random_state * 1664525u + 1013904223u;
      data[(random_state >> 8) % size] ^= (uint8_t)(1u << (random_state >> 29));
   }
   return size;
}

/* In memory of exactly its size, so that a sanitizer sees what is read beyond. */
static void
run_exact(const uint8_t *data, size_t size)
{
   uint8_t *exact = malloc(size ? size : 1);
   if (!exact)
      abort();
   memcpy(exact, data, size);
   LLVMFuzzerTestOneInput(exact, size);
   free(exact);
}

static int
run_file(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
   (void)st, (void)ftw;
   if (kind != FTW_F)
      return 0;
   static uint8_t input[MAX_INPUT];
   FILE *f = fopen(path, "rb");
   if (!f) {
      perror(path);
      return 1;
   }
   size_t size = fread(input, 1, sizeof input, f);
   fclose(f);
   /* Read back after a crash: where it was. */
   fprintf(stderr, "%s\n", path);
   run_exact(input, size);
   num_files++;
   for (unsigned i = 1; i <= num_changes; i++) {
      size = LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(input, size, sizeof input, i)
                                     : LLVMFuzzerMutate(input, size, sizeof input);
      run_exact(input, size);
   }
   return 0;
}

int
main(int argc, char **argv)
{
   if (LLVMFuzzerInitialize)
      LLVMFuzzerInitialize(&argc, &argv);
   for (int i = 1; i < argc; i++) {
      if (strcmp(argv[i], "--changes") == 0 && i + 1 < argc)
         num_changes = (unsigned)atoi(argv[++i]);
      else if (access(argv[i], F_OK) == 0 && nftw(argv[i], run_file, 16, FTW_PHYS) != 0)
         return 1;
   }
   printf("%u inputs, %u changes of each\n", num_files, num_changes);
   return num_files == 0;
}

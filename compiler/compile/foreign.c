/* Files that hold no kernels: other languages, arrays, binaries.  Said once for the file, where the
 * parser would find something else at every line. */
#include "compile/compilation.h"

#include <string.h>

typedef struct Foreign {
   const char *mark; /* endings, apart by spaces; or the first bytes */
   const char *what, *help;
} Foreign;

static const char python[] = "a kernel is a Python function, 'def name(x, n):', below @triton.jit; "
                             "`tilec doc` lists what it may call";
static const char binary[] = "give the source, a .tile or .py file";
static const char arrays[] = "arrays are arguments: tilec run KERNELS.py --arg x=@FILE.npy";

static const Foreign by_ending[] = {
   {".cu .cuh", "CUDA C++", python},
   {".c .h .cc .cpp .cxx .hpp .hip", "C or C++", python},
   {".rs .go .java .js .ts .jl .f90 .sh", "another language", python},
   {".ptx .sass", "assembly for GPUs, what tilec makes",
    "give the source that it was made of; a program loads PTX with tilec_module_load"},
   {".ll .mlir .ttir .ttgir .llir", "IR of another compiler", "tilec reads IR of its own, .tir"},
   {".ipynb", "a notebook",
    "write its cells into a .py file: jupyter nbconvert --to script NAME.ipynb"},
   {".md .rst .html .htm", "a page of text", "write its code into a .py or .tile file"},
   {".json .toml .yaml .yml .csv .xml", "data", binary},
   {".npy .npz .pt .pth .safetensors", "an array", arrays},
   {".o .so .a .cubin .fatbin .exe .bc .pyc .zip .gz .tar", "a binary", binary},
};

static const Foreign by_bytes[] = {
   {"\xff\xfe", "text in UTF-16", "save it as UTF-8"},
   {"\xfe\xff", "text in UTF-16", "save it as UTF-8"},
   {"\x7f"
    "ELF",
    "a binary", binary},
   {"PK\x03\x04", "an archive", binary},
   {"\x1f\x8b", "a compressed file", "unpack it first"},
   {"\x93NUMPY", "an array", arrays},
};

bool
tl_is_foreign(TlCompilation *comp, const char *name, const char *text, size_t len)
{
   const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
   const Foreign *found = NULL;
   for (size_t i = 0; dot && i < sizeof by_ending / sizeof by_ending[0]; i++)
      if (tl_word_is_listed(by_ending[i].mark, dot))
         found = &by_ending[i];
   for (size_t i = 0; i < sizeof by_bytes / sizeof by_bytes[0]; i++) {
      size_t n = strlen(by_bytes[i].mark);
      if (len >= n && memcmp(text, by_bytes[i].mark, n) == 0)
         found = &by_bytes[i];
   }
   if (!found)
      return false;
   tl_report(&comp->diags, E0103, tl_range(comp->file, 0, 0), found->what);
   tl_help(&comp->diags, "%s", found->help);
   return true;
}

/* Which build this is: the linker's build id of the file that this code is in.  Two compilers of
 * one version may differ while one is being worked on, and must not share what they compiled. */
#define _GNU_SOURCE
#include "codegen/codegen.h"
#include "tilec/tilec.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

typedef struct Found {
   uintptr_t self; /* an address in the file looked for */
   const unsigned char *id;
   size_t len;
} Found;

static bool
holds(const struct dl_phdr_info *info, uintptr_t address)
{
   for (int i = 0; i < info->dlpi_phnum; i++) {
      const ElfW(Phdr) *h = &info->dlpi_phdr[i];
      uintptr_t begin = info->dlpi_addr + h->p_vaddr;
      if (h->p_type == PT_LOAD && address >= begin && address - begin < h->p_memsz)
         return true;
   }
   return false;
}

/* Notes: name length, description length, type, then both padded to 4 bytes (System V gABI). */
static void
search_notes(Found *f, const unsigned char *at, size_t len)
{
   while (len >= 12) {
      uint32_t word[3];
      memcpy(word, at, sizeof word);
      size_t name = (word[0] + (size_t)3) & ~(size_t)3, desc = (word[1] + (size_t)3) & ~(size_t)3;
      if (name + desc > len - 12)
         return;
      if (word[2] == NT_GNU_BUILD_ID && word[0] == 4 && memcmp(at + 12, "GNU", 4) == 0) {
         f->id = at + 12 + name;
         f->len = word[1];
         return;
      }
      at += 12 + name + desc;
      len -= 12 + name + desc;
   }
}

static int
visit(struct dl_phdr_info *info, size_t size, void *user)
{
   Found *f = user;
   (void)size;
   if (!holds(info, f->self))
      return 0;
   for (int i = 0; i < info->dlpi_phnum && !f->id; i++)
      if (info->dlpi_phdr[i].p_type == PT_NOTE)
         search_notes(f, (const unsigned char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                      info->dlpi_phdr[i].p_memsz);
   return 1;
}

size_t
tilec_build_id(char *buffer, size_t bytes)
{
   Found f = {.self = (uintptr_t)&tilec_build_id};
   char text[256];
   dl_iterate_phdr(visit, &f);
   if (buffer && bytes)
      buffer[0] = 0;
   if (!f.id || f.len < 8)
      return 0;
   int n = snprintf(text, sizeof text, "%s llvm %s ", tilec_version(), tl_codegen_llvm_version());
   size_t len = (size_t)n;
   for (size_t i = 0; i < f.len && len + 3 < sizeof text; i++)
      len += (size_t)snprintf(text + len, sizeof text - len, "%02x", f.id[i]);
   if (buffer && bytes)
      snprintf(buffer, bytes, "%s", text);
   return len;
}

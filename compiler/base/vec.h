/* Growable arrays in an arena.  The old storage stays in the arena when an array grows.
 *    TL_VEC(TlValue *) args = {0};
 *    tl_vec_push(arena, &args, value);
 *    for (size_t i = 0; i < args.len; i++) use(args.data[i]); */
#ifndef TL_BASE_VEC_H
#define TL_BASE_VEC_H

#include "base/arena.h"

#include <string.h>

#define TL_VEC(T)                                                                                  \
   struct {                                                                                        \
      T *data;                                                                                     \
      size_t len, cap;                                                                             \
   }

static inline void *
tl_vec_grow(TlArena *arena, void *data, size_t len, size_t *cap, size_t elem_bytes)
{
   size_t new_cap = *cap ? *cap * 2 : 8;
   void *p = tl_arena_array(arena, new_cap, elem_bytes);
   if (len)
      memcpy(p, data, len * elem_bytes);
   *cap = new_cap;
   return p;
}

#define tl_vec_push(arena, v, ...)                                                                 \
   ((v)->len == (v)->cap                                                                           \
       ? (void)((v)->data = tl_vec_grow((arena), (v)->data, (v)->len, &(v)->cap,                   \
                                        sizeof *(v)->data))                                        \
       : (void)0,                                                                                  \
    (void)((v)->data[(v)->len++] = (__VA_ARGS__)))

#define tl_vec_pop(v) ((v)->data[--(v)->len])
#define tl_vec_last(v) ((v)->data[(v)->len - 1])

#endif

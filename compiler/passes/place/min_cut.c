/* Dinic's algorithm.  Label 0 is the source's side: an edge a -> b is cut when a has label 0 and b
 * has label 1. */
#include "passes/place/min_cut.h"

#include <assert.h>

void
tl_cut_init(TlCut *cut, TlArena *arena, uint32_t num_nodes)
{
   *cut = (TlCut){.arena = arena, .num = num_nodes};
   cut->first = tl_new_array(arena, int32_t, num_nodes + 2);
   cut->level = tl_new_array(arena, int32_t, num_nodes + 2);
   cut->at = tl_new_array(arena, int32_t, num_nodes + 2);
   cut->cost = tl_new_array(arena, int64_t, num_nodes);
   for (uint32_t i = 0; i < num_nodes + 2; i++)
      cut->first[i] = -1;
}

static void
add_edge(TlCut *cut, uint32_t from, uint32_t to, int64_t capacity)
{
   assert(capacity >= 0);
   assert(from < cut->num + 2 && to < cut->num + 2);
   tl_vec_push(cut->arena, &cut->edges, (TlCutEdge){to, cut->first[from], capacity});
   cut->first[from] = (int32_t)cut->edges.len - 1;
   tl_vec_push(cut->arena, &cut->edges, (TlCutEdge){from, cut->first[to], 0});
   cut->first[to] = (int32_t)cut->edges.len - 1;
}

void
tl_cut_add_pair(TlCut *cut, uint32_t a, uint32_t b, int64_t cost[2][2])
{
   assert(a < cut->num && b < cut->num && a != b);
   /* cost = c00 + (c10 - c00) a + (c11 - c10) b + (c01 + c10 - c00 - c11) (1 - a) b */
   int64_t both = cost[0][1] + cost[1][0] - cost[0][0] - cost[1][1];
   tl_cut_add(cut, a, cost[1][0] - cost[0][0]);
   tl_cut_add(cut, b, cost[1][1] - cost[1][0]);
   if (both > 0)
      add_edge(cut, a, b, both);
}

static bool
find_levels(TlCut *cut, uint32_t *queue)
{
   uint32_t source = cut->num, sink = cut->num + 1, head = 0, tail = 0;
   for (uint32_t i = 0; i < cut->num + 2; i++) {
      cut->level[i] = -1;
      cut->at[i] = cut->first[i];
   }
   cut->level[source] = 0;
   queue[tail++] = source;
   while (head < tail) {
      uint32_t node = queue[head++];
      for (int32_t e = cut->first[node]; e >= 0; e = cut->edges.data[e].next) {
         const TlCutEdge *edge = &cut->edges.data[e];
         if (edge->left > 0 && cut->level[edge->to] < 0) {
            cut->level[edge->to] = cut->level[node] + 1;
            queue[tail++] = edge->to;
         }
      }
   }
   return cut->level[sink] >= 0;
}

/* One path from the source to the sink along rising levels; false when none is left. */
static bool
push_path(TlCut *cut, int32_t *path)
{
   uint32_t source = cut->num, sink = cut->num + 1, node = source;
   unsigned len = 0;
   while (node != sink) {
      int32_t e = cut->at[node];
      if (e < 0) { /* dead end: back one step */
         if (node == source)
            return false;
         node = cut->edges.data[path[--len] ^ 1].to;
         cut->at[node] = cut->edges.data[cut->at[node]].next;
         continue;
      }
      const TlCutEdge *edge = &cut->edges.data[e];
      if (edge->left > 0 && cut->level[edge->to] == cut->level[node] + 1) {
         path[len++] = e;
         node = edge->to;
      } else {
         cut->at[node] = edge->next;
      }
   }
   int64_t least = INT64_MAX;
   for (unsigned i = 0; i < len; i++)
      least = cut->edges.data[path[i]].left < least ? cut->edges.data[path[i]].left : least;
   for (unsigned i = 0; i < len; i++) {
      cut->edges.data[path[i]].left -= least;
      cut->edges.data[path[i] ^ 1].left += least;
   }
   return true;
}

void
tl_cut_solve(TlCut *cut, bool *label)
{
   uint32_t source = cut->num, sink = cut->num + 1;
   uint32_t *queue = tl_new_array(cut->arena, uint32_t, cut->num + 2);
   int32_t *path = tl_new_array(cut->arena, int32_t, cut->num + 2);
   for (uint32_t i = 0; i < cut->num; i++) {
      if (cut->cost[i] > 0)
         add_edge(cut, source, i, cut->cost[i]);
      else if (cut->cost[i] < 0)
         add_edge(cut, i, sink, -cut->cost[i]);
   }
   while (find_levels(cut, queue))
      while (push_path(cut, path)) {
      }
   /* Label 1 only for what reaches the sink: the smallest such side. */
   for (uint32_t i = 0; i < cut->num + 2; i++)
      cut->level[i] = -1;
   uint32_t head = 0, tail = 0;
   cut->level[sink] = 0;
   queue[tail++] = sink;
   while (head < tail) {
      uint32_t node = queue[head++];
      for (int32_t e = cut->first[node]; e >= 0; e = cut->edges.data[e].next) {
         const TlCutEdge *into = &cut->edges.data[e ^ 1];
         uint32_t from = cut->edges.data[e].to;
         if (into->left > 0 && cut->level[from] < 0) {
            cut->level[from] = 0;
            queue[tail++] = from;
         }
      }
   }
   for (uint32_t i = 0; i < cut->num; i++)
      label[i] = cut->level[i] == 0;
}

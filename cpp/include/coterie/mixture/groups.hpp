// Items sorted by a key, and groups cut into pieces that threads can share.
#pragma once

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/parallel.hpp"

namespace coterie {
namespace {

// Items in the order of their keys, those with the same key in ascending order.
template <class Item>
struct Grouping {
    Buffer<Index> starts;  // n_keys + 1
    Buffer<Item> items;
};

// each(begin, end, f) calls f(key, item) for the items of rows begin .. end - 1, in ascending order, twice the same.
template <class Item, class Each>
Grouping<Item> group_by(Index n_rows, Index n_keys, int n_threads, Each each) {
    // Chunks are counted separately, so that threads can share the work; few, since each has a counter for every key.
    const Index n_chunks = max_index(1, min_index(16, n_rows / max_index(4096, n_keys)));
    const Index chunk = ceil_div(max_index(1, n_rows), n_chunks);
    Buffer<Index> places(n_chunks * n_keys);
    places.fill(0);
    const auto each_of = [&](Index task, auto&& take) {
        each(task * chunk, min_index(n_rows, (task + 1) * chunk), take);
    };
    parallel_for(n_chunks, n_threads, [&](Index task) {
        Index* const counts = places.data() + task * n_keys;
        each_of(task, [=](Index key, const Item&) { ++counts[key]; });
    });
    Grouping<Item> out{Buffer<Index>(n_keys + 1), Buffer<Item>(0)};
    Index next = 0;
    for (Index k = 0; k < n_keys; ++k) {
        out.starts[k] = next;
        for (Index task = 0; task < n_chunks; ++task) {
            const Index count = places[task * n_keys + k];
            places[task * n_keys + k] = next;
            next += count;
        }
    }
    out.starts[n_keys] = next;
    out.items = Buffer<Item>(next);
    parallel_for(n_chunks, n_threads, [&](Index task) {
        Item* const items = out.items.data();
        Index* const place = places.data() + task * n_keys;
        each_of(task, [=](Index key, const Item& item) { items[place[key]++] = item; });
    });
    return out;
}

// Some items of one group.
struct Piece {
    Index group, begin, end;
};

struct Pieces {
    Buffer<Piece> pieces;
    Buffer<Index> starts;  // n_groups + 1: the pieces of each group
    Index size;
};

// Cuts each group into pieces of at most `most` items.
inline Pieces cut_groups(const Index* starts, Index n_groups, Index most) {
    Index n = 0;
    for (Index g = 0; g < n_groups; ++g) n += ceil_div(starts[g + 1] - starts[g], most);
    Pieces out{Buffer<Piece>(n), Buffer<Index>(n_groups + 1), 0};
    for (Index g = 0; g < n_groups; ++g) {
        out.starts[g] = out.size;
        for (Index begin = starts[g]; begin < starts[g + 1]; begin += most)
            out.pieces[out.size++] = {g, begin, min_index(begin + most, starts[g + 1])};
    }
    out.starts[n_groups] = out.size;
    return out;
}

// N sums for each group, of sizes[s] numbers each; those of all groups lie together.
template <int N>
struct GroupSums {
    double* sums[N];
    Index sizes[N];

    GroupSums of(Index group) const {
        GroupSums out = *this;
        for (int s = 0; s < N; ++s) out.sums[s] += group * sizes[s];
        return out;
    }
};

// Adds to the sums of all groups: add(piece, sums, scratch) adds those of a piece. The first piece of each group adds to
// the result directly, the others to separate buffers.
template <int N, class MakeScratch, class Add>
void add_pieces(const Pieces& pieces, Index n_groups, const GroupSums<N>& totals, int n_threads,
                MakeScratch make_scratch, Add add) {
    Index stride = 0, n_places = 0;
    for (const Index size : totals.sizes) stride += size;
    Buffer<Index> places(pieces.size);
    for (Index p = 0; p < pieces.size; ++p)
        places[p] = p == pieces.starts[pieces.pieces[p].group] ? -1 : n_places++;
    Buffer<double> others(n_places * stride);
    others.fill(0);
    parallel_for(pieces.size, n_threads, make_scratch, [&](Index p, auto& scratch) {
        GroupSums<N> own = totals.of(pieces.pieces[p].group);
        double* next = others.data() + max_index(0, places[p]) * stride;
        for (int s = 0; s < (places[p] < 0 ? 0 : N); next += own.sizes[s++]) own.sums[s] = next;
        add(pieces.pieces[p], own.sums, scratch);
    });
    parallel_for(n_places == 0 ? 0 : n_groups, n_threads, [&](Index g) {
        const GroupSums<N> own = totals.of(g);
        for (Index p = pieces.starts[g] + 1; p < pieces.starts[g + 1]; ++p) {
            const double* more = others.data() + places[p] * stride;
            for (int s = 0; s < N; ++s)
                for (Index j = 0; j < own.sizes[s]; ++j) own.sums[s][j] += *more++;
        }
    });
}

}  // namespace
}  // namespace coterie

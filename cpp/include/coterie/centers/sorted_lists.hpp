// Short lists of the nearest, sorted by score.
#pragma once

#include "coterie/machine/lanes.hpp"

namespace coterie {
namespace {

// Puts (score, id) into a list sorted by score, then id; its last entry falls out.
template <class T>
void insert_sorted(T* scores, std::int32_t* ids, Index m, T score, std::int32_t id) {
    Index at = m - 1;
    for (; at > 0 && score < scores[at - 1]; --at) {
        scores[at] = scores[at - 1];
        ids[at] = ids[at - 1];
    }
    scores[at] = score;
    ids[at] = id;
}

// Inserts the scores of a panel that are below the last of a list; id(lane) is the id of a lane.
template <class Isa, class T, class Id>
inline void insert_lanes(const T* lanes, Id id, Index m, T* scores, std::int32_t* ids) {
    unsigned below = Isa::below(lanes, scores[m - 1]);
    if (m == 1) {
        // Branches that depend on each lane would be mispredicted in a first panel, where most are below.
        if (below == 0) return;
        int best = __builtin_ctz(below);
        for (below &= below - 1; below != 0; below &= below - 1) {
            const int lane = __builtin_ctz(below);
            best = lanes[lane] < lanes[best] ? lane : best;
        }
        scores[0] = lanes[best];
        ids[0] = id(best);
        return;
    }
    for (; below != 0; below &= below - 1) {
        const int lane = __builtin_ctz(below);
        if (lanes[lane] < scores[m - 1]) insert_sorted(scores, ids, m, lanes[lane], id(lane));
    }
}

}  // namespace
}  // namespace coterie

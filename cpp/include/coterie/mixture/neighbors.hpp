// Neighbors of components, learned from the rows that share a best component.
#pragma once

#include "coterie/centers/sorted_lists.hpp"
#include "coterie/machine/marks.hpp"

namespace coterie {
namespace {

// Statistics of a component over some rows.
struct Finding {
    double sum;  // of the energies
    Index count;
    std::int32_t id;
};

// Energies of components, added up over rows.
struct Tally {
    explicit Tally(Index n_components) : findings(n_components), ids(n_components + 1) {
        for (Index c = 0; c < n_components; ++c) findings[c] = {0, 0, static_cast<std::int32_t>(c)};
    }

    // Without a branch, which could not be predicted.
    void add(std::int32_t id, double sum, Index count) {
        Finding& finding = findings[id];
        ids[size] = id;
        size += finding.count == 0;
        finding.sum += sum;
        finding.count += count;
    }
    void clear() {
        for (Index i = 0; i < size; ++i) findings[ids[i]] = {0, 0, ids[i]};
        size = 0;
    }
    const Finding& operator[](Index i) const { return findings[ids[i]]; }

    Buffer<Finding> findings;   // of all components
    Buffer<std::int32_t> ids;   // of those that occurred, in that order
    Index size = 0;
};

struct Findings {
    Finding* entries;
    Index size;
};

inline Findings findings_of(const Tally& tally) {
    Finding* entries = new Finding[tally.size];
    for (Index i = 0; i < tally.size; ++i) entries[i] = tally[i];
    return {entries, tally.size};
}

// The components that are the best ones on average for the rows that share a best component.
// IN tally, self, former (n_neighbors); OUT neighbors (n_neighbors), of which the first is the component itself.
inline void choose_neighbors(const Tally& tally, std::int32_t self, Index n_neighbors, const std::int32_t* former,
                             double* means, std::int32_t* neighbors) {
    const Index n_others = n_neighbors - 1;
    neighbors[0] = self;
    if (n_others == 0) return;
    std::int32_t* const chosen = neighbors + 1;
    for (Index k = 0; k < n_others; ++k) {
        means[k] = infinity<double>();
        chosen[k] = -1;
    }
    for (Index i = 0; i < tally.size; ++i) {
        const Finding& finding = tally[i];
        const double mean = finding.sum / static_cast<double>(finding.count);
        if (mean < means[n_others - 1] && finding.id != self)
            insert_sorted(means, chosen, n_others, mean, finding.id);
    }
    Index n_new = 0;
    while (n_new < n_others && chosen[n_new] >= 0) ++n_new;
    // If there are too few, former neighbors are added.
    for (Index k = 1; k < n_neighbors && n_new < n_others; ++k) {
        bool again = false;
        for (Index e = 0; e < n_new; ++e) again |= chosen[e] == former[k];
        if (!again) chosen[n_new++] = former[k];
    }
    for (; n_new < n_others; ++n_new) chosen[n_new] = self;
}

}  // namespace
}  // namespace coterie

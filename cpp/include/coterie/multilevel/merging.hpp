// Greedy merging of adjacent clusters.
#pragma once

#include <algorithm>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "coterie/multilevel/node_moves.hpp"

namespace coterie {

// Clusters of a graph, at first one for each node, that are merged pair by pair.
class MergingClusters {
   public:
    MergingClusters(const NodeGraph& graph, const Quality& quality) : quality_(quality) {
        const std::size_t n = static_cast<std::size_t>(graph.n_nodes);
        clusters_.reserve(n);
        for (std::int32_t i = 0; i < graph.n_nodes; ++i) {
            Merging own{{graph.loops[i], graph.degree(i)}, {}, i, 0, {}};
            own.summands = quality.summands(own.cluster);
            sums_ = sums_ + own.summands;
            for (Index e = graph.starts[i]; e < graph.starts[i + 1]; ++e)
                own.links.emplace_hint(own.links.end(), graph.columns[e], graph.weights[e]);
            clusters_.push_back(std::move(own));
        }
        for (std::int32_t i = 0; i < graph.n_nodes; ++i)
            for (const auto& [other, link] : clusters_[i].links)
                if (i < other) add_pair(i, other, link);
    }

    // Merges the adjacent pair that raises the objective most, or lowers it least; the lowest clusters of equals. Rises
    // depend on all clusters, so that the first pair of the queue is computed anew, and goes back if it is no longer the
    // first. Where none are adjacent the two clusters of least volume merge. What is merged has the lower number.
    void merge_two() {
        while (!pairs_.empty()) {
            Pair pair = pairs_.top();
            pairs_.pop();
            if (pair.age != age(pair.first, pair.second)) continue;
            const double link = clusters_[pair.first].links.at(pair.second);
            pair.rise = rise(pair.first, pair.second, link);
            if (pairs_.empty() || !(pair < pairs_.top())) return merge(pair.first, pair.second, link);
            pairs_.push(pair);
        }
        std::int32_t least = -1, second = -1;
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(clusters_.size()); ++i) {
            if (clusters_[i].into != i) continue;
            if (least < 0 || clusters_[i].cluster.volume < clusters_[least].cluster.volume) second = least, least = i;
            else if (second < 0 || clusters_[i].cluster.volume < clusters_[second].cluster.volume) second = i;
        }
        merge(std::min(least, second), std::max(least, second), 0);
    }

    // OUT labels (n_nodes), from 0 in the order of the first nodes of the clusters.
    void write_labels(std::int32_t* labels) const {
        std::int32_t n_found = 0;
        for (std::size_t i = 0; i < clusters_.size(); ++i) {
            std::size_t root = i;
            while (clusters_[root].into != static_cast<std::int32_t>(root)) root = clusters_[root].into;
            labels[i] = root == i ? n_found++ : labels[root];
        }
    }

   private:
    using Links = std::map<std::int32_t, double>;  // weights to other clusters

    struct Merging {
        Cluster cluster;
        Summands summands;
        std::int32_t into;  // the cluster that it has become a part of, or its own number
        Index age;          // how often it has changed
        Links links;
    };

    struct Pair {
        double rise;  // when it was computed last
        std::int32_t first, second;
        Index age;

        bool operator<(const Pair& other) const {
            if (rise != other.rise) return rise < other.rise;
            return first != other.first ? first > other.first : second > other.second;
        }
    };

    // Grows whenever one of two clusters changes.
    Index age(std::int32_t a, std::int32_t b) const { return clusters_[a].age + clusters_[b].age; }

    Cluster both(std::int32_t a, std::int32_t b, double link) const {
        const Cluster one = clusters_[a].cluster, other = clusters_[b].cluster;
        return {one.inside + other.inside + 2 * link, one.volume + other.volume};
    }

    double rise(std::int32_t a, std::int32_t b, double link) const {
        const Summands without = sums_ - clusters_[a].summands - clusters_[b].summands;
        return quality_.value(without + quality_.summands(both(a, b, link))) - quality_.value(sums_);
    }

    void add_pair(std::int32_t a, std::int32_t b, double link) {
        pairs_.push({rise(a, b, link), std::min(a, b), std::max(a, b), age(a, b)});
    }

    void merge(std::int32_t a, std::int32_t b, double link) {
        Merging &one = clusters_[a], &other = clusters_[b];
        sums_ = sums_ - one.summands - other.summands;
        one.cluster = both(a, b, link);
        one.summands = quality_.summands(one.cluster);
        sums_ = sums_ + one.summands;
        other.into = a;
        for (const auto& [c, weight] : other.links) {
            clusters_[c].links.erase(b);
            if (c != a) one.links[c] += weight;
        }
        other.links.clear();
        ++one.age;
        ++other.age;
        for (const auto& [c, weight] : one.links) {
            clusters_[c].links[a] = weight;
            add_pair(a, c, weight);
        }
    }

    Quality quality_;
    Summands sums_{0, 0, 0};
    std::vector<Merging> clusters_;
    std::priority_queue<Pair> pairs_;
};

}  // namespace coterie

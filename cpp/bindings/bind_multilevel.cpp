// The kernels of multilevel graph clustering: argument checks, then the kernel without the interpreter's lock.
#include "bindings.hpp"
#include "coterie/multilevel/leiden.hpp"
#include "coterie/multilevel/merging.hpp"
#include "coterie/multilevel/node_moves.hpp"

namespace coterie {
namespace {

// A graph as Python hands it over; keeps the arrays alive.
struct NodeGraphArrays {
    In1<Index> starts;
    In1<std::int32_t> columns;
    In1<double> weights, loops;
    double volume;

    NodeGraph view() const { return {starts, columns, weights, loops, loops.size(), volume}; }
};

NodeGraphArrays node_graph(In1<Index> starts, In1<std::int32_t> columns, In1<double> weights, In1<double> loops,
                           double volume) {
    const Index n = loops.size();
    require_size(n + 1, "starts has the wrong length", starts);
    require_starts(starts);
    require_size(starts[n], "an array has the wrong shape", columns, weights);
    require_between(0, n, "a column is out of range", columns);
    for (Index i = 0; i < n; ++i)
        for (Index e = starts[i]; e < starts[i + 1]; ++e) {
            require(columns[e] != i, "a column is that of the node itself");
            require(e == starts[i] || columns[e - 1] < columns[e], "columns do not ascend");
            require(weights[e] > 0, "a weight is not above 0");
        }
    require(volume > 0, "the volume is not above 0");
    return {starts, columns, weights, loops, volume};
}

Quality quality_of(const NodeGraph& graph, int kind, double resolution) {
    require(kind >= 0 && kind <= static_cast<int>(QualityKind::kNormalizedCut), "there is no such objective");
    return {static_cast<QualityKind>(kind), resolution, graph.volume};
}

Index move_nodes_of(const NodeGraphArrays& arrays, int kind, double resolution, bool may_empty,
                    Out1<std::int32_t> labels, Out1<std::uint8_t> waits, Out2<double> clusters, Out1<Index> sizes) {
    const NodeGraph graph = arrays.view();
    const Index n_clusters = sizes.size();
    require_size(graph.n_nodes, "one number per node is needed", labels, waits);
    require_between(0, n_clusters, "a label is out of range", labels);
    require(clusters.shape(0) == n_clusters && clusters.shape(1) == 2, "clusters has the wrong shape");
    static_assert(sizeof(Cluster) == 2 * sizeof(double));
    return move_nodes(graph, quality_of(graph, kind, resolution), may_empty, labels, waits,
                      reinterpret_cast<Cluster*>(clusters.data()), sizes, n_clusters);
}

void merge_nodes_of(const NodeGraphArrays& arrays, int kind, double resolution, Index n_clusters,
                    Out1<std::int32_t> labels) {
    const NodeGraph graph = arrays.view();
    require_size(graph.n_nodes, "one label per node is needed", labels);
    require(n_clusters >= 1 && n_clusters <= graph.n_nodes, "the number of clusters is out of range");
    MergingClusters clusters(graph, quality_of(graph, kind, resolution));
    for (Index n_left = graph.n_nodes; n_left > n_clusters; --n_left) clusters.merge_two();
    clusters.write_labels(labels);
}

bool improve_communities(const NodeGraphArrays& arrays, In1<double> masses, double rate, double least_rise,
                         std::uint64_t seed, bool parts, double least, Out1<std::int32_t> labels, int n_threads) {
    const NodeGraph graph = arrays.view();
    require_size(graph.n_nodes, "one number per node is needed", masses, labels);
    require_between(0, graph.n_nodes, "a label is out of range", labels);
    require(n_threads >= 1, "n_threads must be at least 1");
    Labels found(labels.data(), labels + graph.n_nodes);
    const Level level{graph.starts, graph.columns, graph.weights, masses, graph.n_nodes};
    const bool goes_on = Leiden(rate, least_rise, seed, n_threads).improve(level, parts, least, found);
    std::copy(found.begin(), found.end(), labels.data());
    return goes_on;
}

}  // namespace

void bind_multilevel(nb::module_& m) {
    nb::class_<NodeGraphArrays>(m, "NodeGraph");
    m.def("node_graph", &node_graph);
    m.def("move_nodes", &move_nodes_of, Unlocked());
    m.def("improve_communities", &improve_communities, Unlocked());
    m.def("merge_nodes", &merge_nodes_of, Unlocked());
}

}  // namespace coterie

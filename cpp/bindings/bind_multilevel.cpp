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

    NodeGraph view() const {
        return {starts.data(), columns.data(), weights.data(), loops.data(), static_cast<Index>(loops.size()), volume};
    }
};

NodeGraphArrays node_graph(In1<Index> starts, In1<std::int32_t> columns, In1<double> weights, In1<double> loops,
                           double volume) {
    const Index n = static_cast<Index>(loops.size());
    require_size(starts, n + 1, "starts has the wrong length");
    require_starts(starts);
    require_size(columns, starts.data()[n], "starts and columns do not belong together");
    require_between(columns, 0, n, "a column is out of range");
    require_size(weights, starts.data()[n], "one weight per edge is needed");
    for (Index i = 0; i < n; ++i)
        for (Index e = starts.data()[i]; e < starts.data()[i + 1]; ++e) {
            require(columns.data()[e] != i, "a column is that of the node itself");
            require(e == starts.data()[i] || columns.data()[e - 1] < columns.data()[e], "columns do not ascend");
            require(weights.data()[e] > 0, "a weight is not above 0");
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
    const Index n_clusters = static_cast<Index>(sizes.size());
    require_size(labels, graph.n_nodes, "one label per node is needed");
    require_between(labels, 0, n_clusters, "a label is out of range");
    require_size(waits, graph.n_nodes, "one mark per node is needed");
    require(static_cast<Index>(clusters.shape(0)) == n_clusters && clusters.shape(1) == 2,
            "clusters has the wrong shape");
    static_assert(sizeof(Cluster) == 2 * sizeof(double));
    return move_nodes(graph, quality_of(graph, kind, resolution), may_empty, labels.data(), waits.data(),
                      reinterpret_cast<Cluster*>(clusters.data()), sizes.data(), n_clusters);
}

void merge_nodes_of(const NodeGraphArrays& arrays, int kind, double resolution, Index n_clusters,
                    Out1<std::int32_t> labels) {
    const NodeGraph graph = arrays.view();
    require_size(labels, graph.n_nodes, "one label per node is needed");
    require(n_clusters >= 1 && n_clusters <= graph.n_nodes, "the number of clusters is out of range");
    MergingClusters clusters(graph, quality_of(graph, kind, resolution));
    for (Index n_left = graph.n_nodes; n_left > n_clusters; --n_left) clusters.merge_two();
    clusters.write_labels(labels.data());
}

double improve_communities(const NodeGraphArrays& arrays, In1<double> masses, double rate, double least_rise,
                           std::uint64_t seed, bool nodes_only, Out1<std::int32_t> labels, int n_threads) {
    const NodeGraph graph = arrays.view();
    require_size(masses, graph.n_nodes, "one mass per node is needed");
    require_size(labels, graph.n_nodes, "one label per node is needed");
    require_between(labels, 0, graph.n_nodes, "a label is out of range");
    require(n_threads >= 1, "n_threads must be at least 1");
    const Level level{graph.starts, graph.columns, graph.weights, masses.data(), graph.n_nodes};
    Labels found(labels.data(), labels.data() + graph.n_nodes);
    Leiden leiden(rate, least_rise, seed, n_threads);
    leiden.improve(level, nodes_only, found);
    std::copy(found.begin(), found.end(), labels.data());
    return leiden.quality(level, found);
}

}  // namespace

void bind_multilevel(nb::module_& m) {
    nb::class_<NodeGraphArrays>(m, "NodeGraph")
        .def("__init__",
             [](NodeGraphArrays* self, In1<Index> starts, In1<std::int32_t> columns, In1<double> weights,
                In1<double> loops, double volume) {
                 new (self) NodeGraphArrays(node_graph(starts, columns, weights, loops, volume));
             },
             arg("starts").noconvert(), arg("columns").noconvert(), arg("weights").noconvert(),
             arg("loops").noconvert(), arg("volume"));
    m.def("move_nodes", &move_nodes_of, arg("graph"), arg("kind"), arg("resolution"), arg("may_empty"),
          arg("labels").noconvert(), arg("waits").noconvert(), arg("clusters").noconvert(), arg("sizes").noconvert(),
          Unlocked());
    m.def("improve_communities", &improve_communities, arg("graph"), arg("masses").noconvert(), arg("rate"),
          arg("least_rise"), arg("seed"), arg("nodes_only"), arg("labels").noconvert(), arg("n_threads"), Unlocked());
    m.def("merge_nodes", &merge_nodes_of, arg("graph"), arg("kind"), arg("resolution"), arg("n_clusters"),
          arg("labels").noconvert(), Unlocked());
}

}  // namespace coterie

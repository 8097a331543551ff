"""A message-passing network with triplets of nodes, which points from pairs of nodes to nodes."""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    """Nodes and edges have hidden states; a few rounds of messages change them.

    In each round a node hears the strongest of the messages along its edges, and an edge (i, j) the
    strongest of those from the triplets (i, j, k).
    """

    def __init__(self, hidden: int, triplet_features: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.encode_node = nn.Linear(1, hidden)
        self.encode_edge = nn.Linear(7, hidden)
        self.message = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(3))
        self.triplet = nn.ModuleList(nn.Linear(hidden, triplet_features) for _ in range(6))
        self.update_node = nn.Linear(2 * hidden, hidden)
        self.update_edge = nn.Linear(hidden + triplet_features, hidden)
        self.node_norm = nn.LayerNorm(hidden)
        self.edge_norm = nn.LayerNorm(hidden)
        self.pointer = nn.ModuleList(nn.Linear(hidden, triplet_features) for _ in range(3))
        self.logit = nn.Linear(triplet_features, 1)

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        """Logits [graph, i, j, k]: how much k looks like the node before j on the way from i."""
        graphs, count, _, _ = weights.shape
        positions = torch.arange(count, dtype=weights.dtype, device=weights.device) / count
        nodes = self.encode_node(positions[:, None]).expand(graphs, -1, -1)
        there = (weights[..., 4:5] > 0).float()
        edges = self.encode_edge(torch.cat([weights, there], dim=3))
        for _ in range(self.rounds):
            nodes, edges = self.hear_neighbours(nodes, edges), self.hear_triplets(nodes, edges)
        from_pair, from_edge, from_node = self.pointer
        features = (
            from_pair(edges)[:, :, :, None]
            + from_edge(edges).transpose(1, 2)[:, None]
            + from_node(nodes)[:, None, None]
        )
        return self.logit(functional.relu(features)).squeeze(4)

    def hear_neighbours(self, nodes: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        sender, receiver, edge = self.message
        messages = sender(nodes)[:, :, None] + receiver(nodes)[:, None] + edge(edges)
        heard = functional.relu(messages).amax(dim=1)
        return self.node_norm(nodes + self.update_node(torch.cat([nodes, heard], dim=2)))

    def hear_triplets(self, nodes: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        node_i, node_j, node_k, edge_ij, edge_ik, edge_kj = self.triplet
        triplets = (
            (node_i(nodes)[:, :, None] + node_j(nodes)[:, None] + edge_ij(edges))[:, :, :, None]
            + (node_k(nodes)[:, None] + edge_ik(edges))[:, :, None]
            + edge_kj(edges).transpose(1, 2)[:, None]
        )
        heard = functional.relu(triplets.amax(dim=3))
        return self.edge_norm(edges + self.update_edge(torch.cat([edges, heard], dim=3)))

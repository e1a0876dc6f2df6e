"""Peers: of each problem the best compact model that a good practitioner writes for a solver that anybody has."""

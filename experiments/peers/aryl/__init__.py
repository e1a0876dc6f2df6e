"""Peers of the exact methods for Aryl's elastic jobs and loaned servers."""

"""The commands that pipelines add to the command line of keylake."""

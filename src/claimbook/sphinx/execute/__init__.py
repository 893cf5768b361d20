"""Run claims, code cells and labs during a build."""

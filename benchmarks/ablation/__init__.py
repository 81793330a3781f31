"""Benchmark of language rules: what changes if one is switched off?"""

"""FADE: its exact statements (theory), closed forms, and what it measures beside pass@k.

scaling      laws of pass@k over k, and distributions of solve rates (sec. 4.3 and 12); of_laws: claims about them
measures     what RL changes in weights and hidden states (sec. 4.2, App. 15), computed in weights/
tables, figures   kinds that only this paper has
"""

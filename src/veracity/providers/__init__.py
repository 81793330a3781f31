"""What all calls to model providers share: which keys they need, what their failures mean, which texts can be sent."""

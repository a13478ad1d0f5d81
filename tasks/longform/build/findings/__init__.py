"""Write the texts about an analysis: figures, conclusions, and rules for the invented rows."""

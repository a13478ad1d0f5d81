"""From list questions to items: extending, evidence, verification, rephrasing, skills."""
